# Examples.
EXTRA_DIST += \
	%D%/digits/README.md %D%/digits/make_digits.py %D%/digits/digits-train.h5 %D%/digits/digits-test.h5 \
	%D%/digits/model.py %D%/digits/model.json %D%/digits/train.cfg \
	%D%/debian.sh %D%/quickstart \
	%D%/fashion-mnist/model.py %D%/fashion-mnist/model.json %D%/fashion-mnist/train.cfg
