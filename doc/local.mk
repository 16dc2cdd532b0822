# Documentation.
dist_man_MANS += %D%/stoker.1
