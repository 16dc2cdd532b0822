# Examples.
EXTRA_DIST += %D%/debian.sh
