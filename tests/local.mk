# The scripts that test the program from outside (tests/run); the unit tests are listed by their libraries' fragments.
EXTRA_DIST += \
	%D%/run %D%/suites.py %D%/requirements.txt %D%/stoker_testing.py \
	%D%/bench/run %D%/bench/requirements.txt %D%/bench/bench.py %D%/bench/peer_keras.py %D%/bench/peer_torch.py \
	%D%/cli %D%/cluster %D%/exactness %D%/faults %D%/golden %D%/learning %D%/sanitizers

# Built on request: by the tsan suite of tests/run, by tests/bench/run.
EXTRA_PROGRAMS += tests/sanitizers/planted_race tests/bench/bare_convnet
tests_sanitizers_planted_race_SOURCES = %D%/sanitizers/planted_race.cpp
tests_bench_bare_convnet_SOURCES = %D%/bench/bare_convnet.cpp
tests_bench_bare_convnet_CPPFLAGS = $(AM_CPPFLAGS) $(ONEDNN_CPPFLAGS)
tests_bench_bare_convnet_CXXFLAGS = $(AM_CXXFLAGS) -O3
tests_bench_bare_convnet_LDADD = $(ONEDNN_LDFLAGS) $(ONEDNN_LIBS)
