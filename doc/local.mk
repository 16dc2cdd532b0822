# Documentation.
dist_man_MANS += %D%/stoker.1
EXTRA_DIST += %D%/design.md %D%/formats/run-directory.md
