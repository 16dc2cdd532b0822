# The scripts that test the program from outside (tests/run); the unit tests are listed by their libraries' fragments.
EXTRA_DIST += \
	%D%/run %D%/suites.py %D%/requirements.txt \
	%D%/sanitizers/lsan.supp
