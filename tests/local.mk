# The scripts that test the program from outside (tests/run); the unit tests are listed by their libraries' fragments.
EXTRA_DIST += \
	%D%/run %D%/suites.py %D%/requirements.txt %D%/stoker_testing.py \
	%D%/cli %D%/exactness %D%/faults %D%/golden %D%/sanitizers

# Built on request: by the tsan suite of tests/run.
EXTRA_PROGRAMS += tests/sanitizers/planted_race
tests_sanitizers_planted_race_SOURCES = %D%/sanitizers/planted_race.cpp
