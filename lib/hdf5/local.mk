# Owning types over the serial HDF5 C API.
noinst_LIBRARIES += lib/hdf5/libhdf5file.a
lib_hdf5_libhdf5file_a_SOURCES = \
	%D%/hdf5_attributes.cpp \
	%D%/hdf5_dataset.h %D%/hdf5_dataset.cpp \
	%D%/hdf5_errors.h %D%/hdf5_errors.cpp \
	%D%/hdf5_file.h %D%/hdf5_file.cpp \
	%D%/hdf5_library.h %D%/hdf5_library.cpp
lib_hdf5_libhdf5file_a_CPPFLAGS = $(AM_CPPFLAGS) $(HDF5_CPPFLAGS)
HDF5FILE_LIBS = lib/hdf5/libhdf5file.a
HDF5_LINK = $(HDF5_LDFLAGS) $(HDF5_LIBS)

if HAVE_GTEST
check_PROGRAMS += tests/unit/hdf5/hdf5_test
TESTS += tests/unit/hdf5/hdf5_test
tests_unit_hdf5_hdf5_test_SOURCES = tests/unit/hdf5/hdf5_file_test.cpp
tests_unit_hdf5_hdf5_test_CPPFLAGS = $(AM_CPPFLAGS) $(HDF5_CPPFLAGS)
tests_unit_hdf5_hdf5_test_LDADD = $(HDF5FILE_LIBS) $(TENSOR_LIBS) $(BASE_LIBS) $(GTEST_MAIN_LIBS) $(HDF5_LINK) $(BASE_LINK)
endif
