# Bodies of kernels that compile for host and device: headers only.
EXTRA_DIST += \
	%D%/activation.h \
	%D%/kernel.h \
	%D%/philox_blocks.h \
	%D%/softmax_loss.h \
	%D%/vector_math.h
