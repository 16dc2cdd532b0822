# Sources of samples, the order of an epoch, augmentation, batches prepared in the background.
noinst_LIBRARIES += lib/data/libdata.a
lib_data_libdata_a_SOURCES = \
	%D%/array_source.h %D%/array_source.cpp \
	%D%/augment.h %D%/augment.cpp \
	%D%/byte_stream.h %D%/byte_stream.cpp \
	%D%/cifar_format.cpp \
	%D%/csv_format.cpp \
	%D%/csv_labels.h %D%/csv_labels.cpp \
	%D%/csv_reader.h %D%/csv_reader.cpp \
	%D%/data_spec.h %D%/data_spec.cpp \
	%D%/element.h %D%/element.cpp \
	%D%/file_digest.h %D%/file_digest.cpp \
	%D%/formats.h %D%/formats.cpp \
	%D%/hdf5_format.cpp \
	%D%/idx_format.cpp \
	%D%/loader.h %D%/loader.cpp \
	%D%/memory_limit.h %D%/memory_limit.cpp \
	%D%/npy_format.cpp \
	%D%/npy_header.h %D%/npy_header.cpp \
	%D%/npz_format.cpp \
	%D%/records.h %D%/records.cpp \
	%D%/sampler.h %D%/sampler.cpp \
	%D%/source.h %D%/source.cpp \
	%D%/zip_directory.h %D%/zip_directory.cpp
lib_data_libdata_a_CPPFLAGS = $(AM_CPPFLAGS) $(HDF5_CPPFLAGS)
DATA_LIBS = lib/data/libdata.a $(HDF5FILE_LIBS)
DATA_LINK = $(HDF5_LINK) $(ZLIB_LIBS)

EXTRA_DIST += tests/unit/data/fixtures/make_fixtures.py \
	tests/unit/data/fixtures/stored.npz tests/unit/data/fixtures/deflated.npz \
	tests/unit/data/fixtures/fortran_half.npy tests/unit/data/fixtures/odd.npy \
	tests/unit/data/fixtures/h5py.h5 tests/unit/data/fixtures/table.csv

if HAVE_GTEST
check_PROGRAMS += tests/unit/data/data_test
TESTS += tests/unit/data/data_test
tests_unit_data_data_test_SOURCES = \
	tests/unit/data/allocation_count.h tests/unit/data/allocation_count.cpp \
	tests/unit/data/data_files.h tests/unit/data/data_files.cpp \
	tests/unit/data/array_files_test.cpp \
	tests/unit/data/augment_test.cpp \
	tests/unit/data/csv_source_test.cpp \
	tests/unit/data/damaged_files_test.cpp \
	tests/unit/data/data_spec_test.cpp \
	tests/unit/data/element_test.cpp \
	tests/unit/data/hdf5_source_test.cpp \
	tests/unit/data/loader_test.cpp \
	tests/unit/data/sampler_test.cpp \
	tests/unit/data/source_test.cpp \
	tests/unit/data/writers_test.cpp
tests_unit_data_data_test_CPPFLAGS = $(AM_CPPFLAGS) $(HDF5_CPPFLAGS)
tests_unit_data_data_test_LDADD = $(DATA_LIBS) $(TENSOR_LIBS) $(BASE_LIBS) $(GTEST_MAIN_LIBS) $(DATA_LINK) $(BASE_LINK)
endif
