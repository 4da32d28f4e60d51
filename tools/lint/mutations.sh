#!/bin/sh
# Every mutation still applies, and says which tests notice it. Builds nothing.
exec tests/mutations/check.py --apply-only
