# Sources of samples, the order of an epoch, augmentation, batches prepared in the background.
noinst_LIBRARIES += lib/data/libdata.a
lib_data_libdata_a_SOURCES = \
	%D%/augment.h %D%/augment.cpp \
	%D%/element.h %D%/element.cpp \
	%D%/loader.h \
	%D%/sampler.h %D%/sampler.cpp \
	%D%/source.h
lib_data_libdata_a_CPPFLAGS = $(AM_CPPFLAGS) $(HDF5_CPPFLAGS)
DATA_LIBS = lib/data/libdata.a $(HDF5FILE_LIBS)
DATA_LINK = $(HDF5_LINK) $(ZLIB_LIBS)

if HAVE_GTEST
check_PROGRAMS += tests/unit/data/data_test
TESTS += tests/unit/data/data_test
tests_unit_data_data_test_SOURCES = \
	tests/unit/data/augment_test.cpp \
	tests/unit/data/sampler_test.cpp
tests_unit_data_data_test_CPPFLAGS = $(AM_CPPFLAGS) $(HDF5_CPPFLAGS)
tests_unit_data_data_test_LDADD = $(DATA_LIBS) $(TENSOR_LIBS) $(BASE_LIBS) $(GTEST_MAIN_LIBS) $(DATA_LINK) $(BASE_LINK)
endif
