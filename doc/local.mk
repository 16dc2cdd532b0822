# Documentation.
dist_man_MANS += %D%/stoker.1
EXTRA_DIST += %D%/formats/run-directory.md
