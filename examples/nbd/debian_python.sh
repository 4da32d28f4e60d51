#!/bin/sh
# The client library is a Debian package, so the Python that has it is Debian's.
exec /usr/bin/python3 -B "$@"
