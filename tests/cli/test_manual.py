#!/usr/bin/env python3
"""The man page has every option of every command's --help, with its argument and default, and no other."""

import re
import subprocess

from stoker_testing import SOURCE, add_case, case, main, require_program, stoker

PAGE = SOURCE / "doc" / "stoker.1"
COMMANDS = ("train", "evaluate", "predict", "inspect", "checkpoint", "model")
OPTION = re.compile(r"^ *(?:-(?P<short>\w) \[ )?(?:-\w, )?--(?P<name>[a-z][a-z-]*)(?: \])?(?: (?P<argument>\S+))?")


def plain(roff):
    """A line of the page without fonts and escapes."""
    return re.sub(r"\\f[BIR]", "", roff).replace("\\-", "-").strip()


def in_page(command):
    """{option: its argument's name, or ""} of a command's section, in which each option is a tagged paragraph."""
    section = PAGE.read_text().split(f".SS stoker {command}\n")[1]
    section = re.split(r"^\.S[SH]", section, flags=re.M)[0]
    tags = [plain(tag) for tag in re.findall(r"^\.TP\n(.*)$", section, re.M)]
    found = {}
    for tag in tags:
        match = re.match(r"(?:-\w, )?--([a-z-]+) ?(.*)$", tag)
        assert match, f"not an option: {tag}"
        assert match.group(1) not in found, f"--{match.group(1)} is there twice"
        found[match.group(1)] = match.group(2)
    return found


def in_help(command):
    found = {}
    for line in stoker(command, "--help").stdout.splitlines():
        match = OPTION.match(line)
        if match:
            found[match.group("name")] = match.group("argument") or ""
    return found


def check(command, _):
    page, shown = in_page(command), in_help(command)
    assert shown, f"`stoker {command} --help` shows no option"
    assert set(page) == set(shown), f"only in the page: {sorted(set(page) - set(shown))}; " \
                                    f"only in --help: {sorted(set(shown) - set(page))}"
    for name, argument in page.items():
        takes = bool(shown[name]) and shown[name] != "arg" or shown[name] == "arg"
        assert bool(argument) == takes, f"--{name}: the page has {argument!r}, --help {shown[name]!r}"


def check_defaults():
    """The defaults that train's --help states stand in the page's text of the option."""
    section = plain(PAGE.read_text().split(".SS stoker train\n")[1].split(".SS")[0])
    for name, default in re.findall(r"^ *--([a-z-]+) (?:\S+ )?\(=([^)]+)\)", stoker("train", "--help").stdout, re.M):
        text = re.search(rf"--{name} .*\n(.*)\n", section).group(1)
        assert f"[{default}" in text or default in text, f"--{name}: the page does not say that its default is {default}"


for name_of_command in COMMANDS:
    add_case(f"stoker {name_of_command}", lambda folder, c=name_of_command: check(c, folder))


@case("defaults of stoker train")
def _(_):
    check_defaults()


@case("the page is well-formed")
def _(_):
    require_program("man")
    done = subprocess.run(["man", "--warnings", "-l", str(PAGE)], text=True, capture_output=True, check=False,
                          env={"MANPAGER": "cat", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"})
    assert done.returncode == 0 and not done.stderr.strip(), done.stderr
    assert "stoker train" in done.stdout


if __name__ == "__main__":
    main()
