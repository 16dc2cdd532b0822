# The CPU backend: oneDNN and our own kernels. The latter are a library of their own for its flags: loops
# vectorise whatever the user's -O level, and neither errno nor floating-point traps are asked for.
noinst_LIBRARIES += lib/backend/cpu/libcpu.a lib/backend/cpu/libfunctions.a
lib_backend_cpu_libcpu_a_SOURCES = \
	%D%/batch_norm_cpu.cpp \
	%D%/binary_cpu.cpp \
	%D%/column_sums.h \
	%D%/conv_pool.h %D%/conv_pool_cpu.cpp \
	%D%/conv2d_cpu.cpp %D%/conv2d_shapes.h \
	%D%/copy_cpu.cpp \
	%D%/cpu_backend.h %D%/cpu_backend.cpp \
	%D%/elementwise_cpu.cpp \
	%D%/kernel.h %D%/kernel_table_cpu.cpp \
	%D%/matmul_cpu.cpp \
	%D%/onednn_api.h %D%/onednn_matmul.h \
	%D%/onednn_primitive.h %D%/onednn_primitive.cpp \
	%D%/op_fusion.h %D%/op_fusion.cpp \
	%D%/parallel.h \
	%D%/pointwise_conv2d.h %D%/pointwise_conv2d_cpu.cpp \
	%D%/pool2d_cpu.cpp \
	%D%/program_cpu.h %D%/program_cpu.cpp \
	%D%/softmax_loss_cpu.cpp
lib_backend_cpu_libcpu_a_CPPFLAGS = $(AM_CPPFLAGS) $(ONEDNN_CPPFLAGS)
lib_backend_cpu_libfunctions_a_SOURCES = \
	%D%/functions.h %D%/functions.cpp \
	%D%/functions_body.inc %D%/functions_conv_pool.inc %D%/functions_elementwise.inc %D%/functions_lanes.inc \
	%D%/functions_norm.inc %D%/functions_pool.inc %D%/functions_rows.inc \
	%D%/functions_avx2.cpp %D%/functions_avx512.cpp %D%/functions_baseline.cpp
lib_backend_cpu_libfunctions_a_CXXFLAGS = $(AM_CXXFLAGS) -fno-math-errno -fno-trapping-math \
	-ftree-vectorize -fvect-cost-model=dynamic
CPU_BACKEND_LIBS = lib/backend/cpu/libcpu.a lib/backend/cpu/libfunctions.a
CPU_BACKEND_LINK = $(ONEDNN_LDFLAGS) $(ONEDNN_LIBS)

if HAVE_GTEST
check_PROGRAMS += tests/unit/backend/backend_test
TESTS += tests/unit/backend/backend_test
tests_unit_backend_backend_test_SOURCES = $(GRAPH_REFERENCE_SOURCES) \
	tests/unit/backend/program_harness.h tests/unit/backend/program_harness.cpp \
	tests/unit/backend/small_nets.h tests/unit/backend/small_nets.cpp \
	tests/unit/backend/allocation_test.cpp \
	tests/unit/backend/loss_agreement_test.cpp \
	tests/unit/backend/mlp_program_test.cpp \
	tests/unit/backend/net_agreement_test.cpp \
	tests/unit/backend/op_agreement_test.cpp \
	tests/unit/backend/vector_math_test.cpp
tests_unit_backend_backend_test_CPPFLAGS = $(AM_CPPFLAGS) $(ONEDNN_CPPFLAGS)
tests_unit_backend_backend_test_LDADD = $(CPU_BACKEND_LIBS) $(GRAPH_LIBS) $(BASE_LIBS) $(GTEST_MAIN_LIBS) \
	$(CPU_BACKEND_LINK) $(BASE_LINK) -ldl
endif
