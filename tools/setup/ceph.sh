#!/bin/sh
# Installs the packages of ceph_packages.txt that are missing, and starts no service of theirs.
# Exit status 1: they cannot be had here.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)

# Packages ask this program, where there is one, whether they may start what they bring.
policy=/usr/sbin/policy-rc.d
if [ "$(id -u)" -eq 0 ] && [ ! -e $policy ]; then
  trap 'rm -f $policy' EXIT
  trap 'exit 1' HUP INT TERM
  printf '#!/bin/sh\nexit 101\n' >$policy
  chmod 755 $policy
fi
"$here/setup.sh" ceph_packages.txt || exit 1
