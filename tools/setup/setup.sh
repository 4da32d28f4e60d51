#!/bin/sh
# Installs the Debian packages that are missing, of packages.txt or of the list that is named:
# setup.sh [LIST]. Needs only sh and apt. Says what it is about to do; does nothing when nothing is
# missing.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)

packages=$(sed 's/#.*//' "$here/${1:-packages.txt}")

# Prints those of $packages that dpkg does not call installed.
missing_packages() {
  # dpkg-query exits with 1 when it does not know a name at all; that one is missing too.
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $packages 2>/dev/null |
    sed -n 's/^installed //p') || true
  for package in $packages; do
    case "
$installed
" in
      *"
$package
"*) ;;
      *) echo "$package" ;;
    esac
  done
}

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "setup: hexad is built with Debian 12's packages, and this machine has no apt." >&2
  echo "setup: use a Debian 12 machine or container, for example: docker run -it debian:12" >&2
  exit 2
fi

missing=$(missing_packages | xargs)
[ -n "$missing" ] || exit 0

# Who may install: root, or someone whom sudo lets through. Without a terminal
# sudo cannot ask for a password, so there it has to do without.
if [ "$(id -u)" -eq 0 ]; then
  as_root=env
elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
  as_root="sudo env"
else
  echo "setup: these Debian packages are missing, and installing them takes root:" >&2
  echo "setup:   $missing" >&2
  echo "setup: type this, then the same ./run command again:" >&2
  ask="su -c"
  ! command -v sudo >/dev/null || ask="sudo sh -c"
  echo "$ask 'apt-get update && apt-get install -y --no-install-recommends $missing'" >&2
  exit 2
fi

# Another apt may be at work on a fresh machine; wait for it.
apt() { $as_root DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 "$@" </dev/null; }

update() {
  echo "setup: apt-get update (package lists, about 10 MB)"
  apt update -qq
}

# dpkg tells about every package in several lines; they are of use only when it fails.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() { apt install -y --no-install-recommends $missing >"$log" 2>&1 || { tail -n 30 "$log" && false; }; }

# apt-cache is silent about packages that the lists do not know.
for package in $missing; do
  if [ -z "$(apt-cache show --no-all-versions "$package" 2>/dev/null)" ]; then
    update
    break
  fi
done

echo "setup: installing $(echo "$missing" | wc -w) Debian packages and what they depend on:"
echo "setup:   $missing"
# Answering no makes apt print the sizes and stop.
apt install --assume-no --no-install-recommends $missing 2>/dev/null |
  sed -n 's/^\(Need to get\|After this\)/setup: \1/p' || true

# Old lists name versions that the mirror has replaced since; new lists cure that.
install || { update && install; } || {
  echo "setup: apt-get failed; its last lines are above. To see all of them, type:" >&2
  echo "apt-get install --no-install-recommends $missing" >&2
  exit 1
}

missing=$(missing_packages | xargs)
if [ -n "$missing" ]; then
  echo "setup: still missing after the installation: $missing" >&2
  exit 1
fi
echo "setup: done"
