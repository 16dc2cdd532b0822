#!/bin/bash
# Process 1 of one machine of the test cluster: host_init.sh NAME FOLDER GPUS
#
# Started in new pid, mount, network, UTS and IPC namespaces. Gives the machine what a real one has to itself:
# /tmp, /run, /dev (with GPUS fake GPU device files) and /dev/shm are new, /etc and /var copies on write, the rest of
# the root file system is read-only. FOLDER, which all machines and the test share, stays where it is. Says "up" and
# then reaps orphans until its standard input is closed, as happens when the test ends in whatever way: the kernel
# then ends all processes, mounts and interfaces of the machine.
set -euo pipefail
name=$1 folder=$2 gpus=$3

# -n: without /run/mount/utab, which libmount would look for below the new /run.
mount() { command mount -n "$@"; }

# Fills a new /dev. The GPUs' device files are those of /dev/null: they can be opened, and do nothing.
make_devices() {
  local dev=$1 index
  mknod -m 666 "$dev/null" c 1 3
  mknod -m 666 "$dev/zero" c 1 5
  mknod -m 666 "$dev/full" c 1 7
  mknod -m 666 "$dev/random" c 1 8
  mknod -m 666 "$dev/urandom" c 1 9
  mknod -m 666 "$dev/tty" c 5 0
  for ((index = 0; index < gpus; index++)); do
    mknod -m 666 "$dev/nvidia$index" c 1 3
  done
  ln -s /proc/self/fd "$dev/fd"
  ln -s fd/0 "$dev/stdin"
  ln -s fd/1 "$dev/stdout"
  ln -s fd/2 "$dev/stderr"
  ln -s pts/ptmx "$dev/ptmx"
  mkdir "$dev/shm" "$dev/pts"
  mount -t tmpfs -o mode=1777 tmpfs "$dev/shm"
  mount -t devpts -o newinstance,ptmxmode=666,mode=620 devpts "$dev/pts"
}

# Puts a copy on write of the folder $1 over it, its changes kept in memory below $2.
copy_on_write() {
  local changes=$2$1
  mkdir -p "$changes" "$changes.work"
  mount -t overlay -o "lowerdir=$1,upperdir=$changes,workdir=$changes.work" overlay "$1"
}

hostname "$name"
ip link set lo up

mount -t tmpfs -o mode=755 tmpfs /mnt
mkdir /mnt/folder /mnt/dev
mount --bind "$folder" /mnt/folder  # else the new /tmp or /dev/shm might hide it
copy_on_write /etc /mnt
copy_on_write /var /mnt
mount -t tmpfs -o mode=755 tmpfs /mnt/dev
make_devices /mnt/dev
mount --move /mnt/dev /dev
mount -t tmpfs -o mode=755 tmpfs /run
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -o remount,bind,ro /
mkdir -p "$folder"
mount --move /mnt/folder "$folder"
umount -n /mnt

cat "$folder/etc/passwd" >>/etc/passwd
cat "$folder/etc/group" >>/etc/group
cp "$folder/etc/hosts" /etc/hosts
: >/etc/resolv.conf
mkdir -p /etc/slurm
mount --bind "$folder/etc" /etc/slurm

echo up
while read -r _; do :; done
