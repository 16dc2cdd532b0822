# Errors, log, text, files, hashing, random numbers.
noinst_LIBRARIES += lib/base/libbase.a
lib_base_libbase_a_SOURCES = \
	%D%/error.h %D%/error.cpp \
	%D%/files.h %D%/files.cpp \
	%D%/handle.h \
	%D%/hash.h %D%/hash.cpp \
	%D%/log.h %D%/log.cpp \
	%D%/philox.h \
	%D%/split.h \
	%D%/subnormals.h %D%/subnormals.cpp \
	%D%/text.h %D%/text.cpp \
	%D%/utf8.h %D%/utf8.cpp \
	%D%/weights_hash.h %D%/weights_hash.cpp
BASE_LIBS = lib/base/libbase.a
BASE_LINK = $(XXHASH_LIBS) $(FMT_LIBS) -lpthread

if HAVE_GTEST
check_PROGRAMS += tests/unit/base/base_test
TESTS += tests/unit/base/base_test
tests_unit_base_base_test_SOURCES = tests/unit/base/base_test.cpp tests/unit/base/split_test.cpp \
	tests/unit/base/subnormals_test.cpp tests/unit/base/weights_hash_test.cpp
tests_unit_base_base_test_LDADD = $(BASE_LIBS) $(GTEST_MAIN_LIBS) $(BASE_LINK)
endif
