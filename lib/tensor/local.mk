# Shapes, element types, host memory.
noinst_LIBRARIES += lib/tensor/libtensor.a
lib_tensor_libtensor_a_SOURCES = \
	%D%/memory.h \
	%D%/shape.h %D%/shape.cpp
TENSOR_LIBS = lib/tensor/libtensor.a
