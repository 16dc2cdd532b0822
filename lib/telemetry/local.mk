# Step clock, metrics log, TensorBoard events, run record, progress line, closing report.
noinst_LIBRARIES += lib/telemetry/libtelemetry.a
lib_telemetry_libtelemetry_a_SOURCES = \
	%D%/append_file.h %D%/append_file.cpp \
	%D%/event_file.h %D%/event_file.cpp \
	%D%/metrics_log.h %D%/metrics_log.cpp \
	%D%/progress.h %D%/progress.cpp \
	%D%/report.h %D%/report.cpp \
	%D%/run_record.h %D%/run_record.cpp \
	%D%/step_clock.h %D%/step_clock.cpp
TELEMETRY_LIBS = lib/telemetry/libtelemetry.a

if HAVE_GTEST
check_PROGRAMS += tests/unit/telemetry/telemetry_test
TESTS += tests/unit/telemetry/telemetry_test
EXTRA_DIST += tests/unit/telemetry/read_events.py
tests_unit_telemetry_telemetry_test_SOURCES = \
	tests/unit/telemetry/event_file_test.cpp \
	tests/unit/telemetry/metrics_log_test.cpp \
	tests/unit/telemetry/report_test.cpp \
	tests/unit/telemetry/run_record_test.cpp \
	tests/unit/telemetry/step_clock_test.cpp \
	tests/unit/telemetry/telemetry_folder.h
tests_unit_telemetry_telemetry_test_CPPFLAGS = $(AM_CPPFLAGS) -DSOURCE_DIR='"$(abs_top_srcdir)"'
tests_unit_telemetry_telemetry_test_LDADD = $(TELEMETRY_LIBS) $(BASE_LIBS) $(GTEST_MAIN_LIBS) $(BASE_LINK)
endif
