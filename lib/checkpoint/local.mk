# The restartable HDF5 format: saving in the background, verifying, loading at any number of ranks.
noinst_LIBRARIES += lib/checkpoint/libcheckpoint.a
lib_checkpoint_libcheckpoint_a_SOURCES = \
	%D%/commit.h %D%/commit.cpp \
	%D%/hdf5_layout.h %D%/hdf5_layout.cpp \
	%D%/layout.h %D%/layout.cpp \
	%D%/reader.h %D%/reader.cpp \
	%D%/sealed_file.h %D%/sealed_file.cpp \
	%D%/shard_file.h %D%/shard_file.cpp \
	%D%/step_folder.h %D%/step_folder.cpp \
	%D%/writer.h %D%/writer.cpp
lib_checkpoint_libcheckpoint_a_CPPFLAGS = $(AM_CPPFLAGS) $(HDF5_CPPFLAGS)
EXTRA_DIST += doc/formats/checkpoint.md
CHECKPOINT_LIBS = lib/checkpoint/libcheckpoint.a $(HDF5FILE_LIBS)

if HAVE_GTEST
check_PROGRAMS += tests/unit/checkpoint/checkpoint_test
TESTS += tests/unit/checkpoint/checkpoint_test
tests_unit_checkpoint_checkpoint_test_SOURCES = \
	tests/unit/checkpoint/checkpoint_fixture.h \
	tests/unit/checkpoint/corruption_test.cpp \
	tests/unit/checkpoint/full_disk_test.cpp \
	tests/unit/checkpoint/killed_writer_test.cpp \
	tests/unit/checkpoint/layout_test.cpp \
	tests/unit/checkpoint/retention_test.cpp \
	tests/unit/checkpoint/round_trip_test.cpp
tests_unit_checkpoint_checkpoint_test_CPPFLAGS = $(AM_CPPFLAGS) $(HDF5_CPPFLAGS)
tests_unit_checkpoint_checkpoint_test_LDADD = $(CHECKPOINT_LIBS) $(TENSOR_LIBS) $(BASE_LIBS) $(GTEST_MAIN_LIBS) \
	$(HDF5_LINK) $(BASE_LINK) -ldl
endif
