# Debian packages that this tree needs, and how to install the missing ones. Sourced by examples/quickstart
# and tests/run; needs bash and a Debian 12 (or later) with apt.

build_packages=(
  autoconf automake g++ make pkg-config
  libboost-program-options-dev libdnnl-dev libfmt-dev libhdf5-dev libopenmpi-dev libxxhash-dev libzip-dev
  nlohmann-json3-dev openmpi-bin zlib1g-dev
)

# need_packages NAME…: installs those that are not installed, as root or through sudo, and starts none of their
# daemons. Ends the script with what to do where neither is possible.
need_packages() {
  local missing=() as_root=() name
  for name in "$@"; do
    [[ $(dpkg-query -W -f='${Status}' "$name" 2>/dev/null) == 'install ok installed' ]] || missing+=("$name")
  done
  ((${#missing[@]})) || return 0
  if [[ $(id -u) != 0 ]]; then
    command -v sudo >/dev/null || { echo "please install as root: apt-get install ${missing[*]}" >&2; exit 2; }
    as_root=(sudo)
  fi
  echo "installing Debian packages: ${missing[*]}"
  (
    # Without this file, which may stand there already, Debian starts the daemons that it installs.
    policy=/usr/sbin/policy-rc.d
    if [[ ! -e $policy ]]; then
      trap '"${as_root[@]}" rm -f "$policy"' EXIT
      printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" install -m 755 /dev/stdin "$policy"
    fi
    "${as_root[@]}" apt-get -qq update
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get -qq install --no-install-recommends -o Dpkg::Use-Pty=0 "${missing[@]}" >/dev/null
  )
}
