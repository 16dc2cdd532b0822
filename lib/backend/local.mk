# What a device must offer; the devices have fragments of their own.
EXTRA_DIST += %D%/backend.h
