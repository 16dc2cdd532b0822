# Optimizers, schedules, clipping, regularisers, constraints. Without fused multiply-adds: the same bits on every CPU.
# Square roots that may set errno, and comparisons that may trap, do not vectorise.
noinst_LIBRARIES += lib/optim/liboptim.a
lib_optim_liboptim_a_SOURCES = \
	lib/kernels/optimizer_kernels.h \
	%D%/chunks.h \
	%D%/keras_attachments.cpp \
	%D%/option_reader.h %D%/option_reader.cpp \
	%D%/optimizer.h %D%/optimizer.cpp \
	%D%/optimizer_factory.cpp \
	%D%/optimizers.h %D%/optimizers.cpp \
	%D%/parameter_range.h %D%/parameter_range.cpp \
	%D%/range_update.h \
	%D%/schedule.h %D%/schedule.cpp
lib_optim_liboptim_a_CXXFLAGS = $(AM_CXXFLAGS) -ffp-contract=off -fno-math-errno -fno-trapping-math
OPTIM_LIBS = lib/optim/liboptim.a $(BASE_LIBS)

if HAVE_GTEST
check_PROGRAMS += tests/unit/optim/optim_test
TESTS += tests/unit/optim/optim_test
tests_unit_optim_optim_test_SOURCES = \
	tests/unit/optim/optimizer_golden_test.cpp \
	tests/unit/optim/optimizer_options_test.cpp
tests_unit_optim_optim_test_LDADD = $(OPTIM_LIBS) $(GTEST_MAIN_LIBS) $(BASE_LINK)
endif
EXTRA_DIST += tests/golden/make_optimizer_golden.py
