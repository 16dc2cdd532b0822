# Examples.
EXTRA_DIST += \
	%D%/debian.sh %D%/quickstart \
	%D%/fashion-mnist/model.py %D%/fashion-mnist/model.json %D%/fashion-mnist/train.cfg
