# The communicator: leaves and the fixed tree, launch environment, one rank alone or MPI.
noinst_LIBRARIES += lib/comm/libcomm.a
lib_comm_libcomm_a_SOURCES = \
	%D%/communicator.h %D%/communicator.cpp \
	%D%/communicator_factory.h \
	%D%/launch.h %D%/launch.cpp \
	%D%/leaf_tree.h %D%/leaf_tree.cpp \
	%D%/peer_table.h %D%/peer_table.cpp \
	%D%/self_communicator.h %D%/self_communicator.cpp \
	%D%/start_alarm.h %D%/start_alarm.cpp \
	%D%/sum_plan.h %D%/sum_plan.cpp \
	%D%/watchdog.h %D%/watchdog.cpp
lib_comm_libcomm_a_CPPFLAGS = $(AM_CPPFLAGS)
comm_mpi_sources = \
	%D%/communication_thread.cpp \
	%D%/communicator_factory_mpi.cpp \
	%D%/host_table.h %D%/host_table.cpp \
	%D%/mpi_call.h \
	%D%/mpi_communicator.h %D%/mpi_communicator.cpp \
	%D%/pulse_exchange.h %D%/pulse_exchange.cpp \
	%D%/request_set.h %D%/request_set.cpp \
	%D%/sum_queue.h %D%/sum_queue.cpp \
	%D%/tree_sum.h %D%/tree_sum.cpp
COMM_LIBS = lib/comm/libcomm.a $(BASE_LIBS)
COMM_LINK = $(BASE_LINK)
if HAVE_MPI
lib_comm_libcomm_a_SOURCES += $(comm_mpi_sources)
lib_comm_libcomm_a_CPPFLAGS += $(MPI_CPPFLAGS)
COMM_LINK += $(MPI_LDFLAGS) $(MPI_LIBS)
else
EXTRA_DIST += $(comm_mpi_sources)
lib_comm_libcomm_a_SOURCES += %D%/communicator_factory_self.cpp
endif

if HAVE_GTEST
check_PROGRAMS += tests/unit/comm/comm_test
TESTS += tests/unit/comm/comm_test
tests_unit_comm_comm_test_SOURCES = \
	tests/unit/comm/launch_test.cpp \
	tests/unit/comm/leaf_tree_test.cpp \
	tests/unit/comm/start_alarm_test.cpp \
	tests/unit/comm/watchdog_test.cpp
tests_unit_comm_comm_test_LDADD = $(COMM_LIBS) $(GTEST_MAIN_LIBS) $(COMM_LINK)
endif

if HAVE_MPI
check_PROGRAMS += tests/mpi/comm_check
tests_mpi_comm_check_SOURCES = tests/mpi/comm_check.cpp
tests_mpi_comm_check_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CPPFLAGS)
tests_mpi_comm_check_LDADD = $(COMM_LIBS) $(COMM_LINK)
TESTS += tests/mpi/comm_library.sh tests/mpi/comm_watchdog.sh
AM_TESTS_ENVIRONMENT += MPIRUN='$(MPIRUN)'; export MPIRUN;
endif
EXTRA_DIST += tests/mpi/comm_library.sh tests/mpi/comm_watchdog.sh
