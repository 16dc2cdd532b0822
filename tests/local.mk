# The scripts that test the program from outside (tests/run); the unit tests are listed by their libraries' fragments.
EXTRA_DIST += \
	%D%/run %D%/suites.py %D%/requirements.txt %D%/stoker_testing.py \
	%D%/sanitizers/lsan.supp \
	%D%/golden/golden_models.py %D%/golden/make_golden.py %D%/golden/test_golden.py %D%/golden/test_round_trips.py \
	%D%/golden/fixtures
