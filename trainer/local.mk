# The program: one file per subcommand, and the training loop.
if BUILD_TRAINER
bin_PROGRAMS += trainer/stoker
noinst_LIBRARIES += trainer/libtrainer.a
endif
trainer_stoker_SOURCES = %D%/main.cpp
trainer_libtrainer_a_SOURCES = \
	%D%/agree.h %D%/agree.cpp \
	%D%/checkpoint_command.cpp \
	%D%/checkpoint_model.h %D%/checkpoint_model.cpp \
	%D%/command.h \
	%D%/compute_threads.h %D%/compute_threads.cpp \
	%D%/device.h %D%/device.cpp \
	%D%/evaluate_command.cpp \
	%D%/evaluator.h %D%/evaluator.cpp \
	%D%/inference.h %D%/inference.cpp \
	%D%/inspect_command.cpp \
	%D%/job.h %D%/job.cpp \
	%D%/loop_state.h %D%/loop_state.cpp \
	%D%/memory_plan.h %D%/memory_plan.cpp \
	%D%/memory_report.h %D%/memory_report.cpp \
	%D%/model_command.cpp \
	%D%/moving_statistics.h %D%/moving_statistics.cpp \
	%D%/options.h %D%/options.cpp \
	%D%/output_file.h %D%/output_file.cpp \
	%D%/parameter_store.h %D%/parameter_store.cpp \
	%D%/predict_command.cpp \
	%D%/prediction_writer.h %D%/prediction_writer.cpp \
	%D%/programs.h %D%/programs.cpp \
	%D%/resume.h %D%/resume.cpp \
	%D%/saver.h %D%/saver.cpp \
	%D%/step_engine.h %D%/step_engine.cpp \
	%D%/stop_signals.h %D%/stop_signals.cpp \
	%D%/train_command.cpp \
	%D%/train_options.h %D%/train_options.cpp \
	%D%/training_loop.h %D%/training_loop.cpp
trainer_libtrainer_a_CPPFLAGS = $(AM_CPPFLAGS) $(HDF5_CPPFLAGS) $(BOOST_CPPFLAGS)
TRAINER_LIBS = trainer/libtrainer.a $(CHECKPOINT_LIBS) $(TELEMETRY_LIBS) $(KERAS_LIBS) $(KERAS_LAYERS_LIBS) $(OPTIM_LIBS) $(COMM_LIBS) $(DATA_LIBS) \
	$(CPU_BACKEND_LIBS) $(GRAPH_LIBS) $(HDF5FILE_LIBS) $(TENSOR_LIBS) $(BASE_LIBS) \
	$(BOOST_LIBS) $(COMM_LINK) $(KERAS_LINK) $(DATA_LINK) $(CPU_BACKEND_LINK) $(HDF5_LINK) $(BASE_LINK)
trainer_stoker_LDADD = $(TRAINER_LIBS)

if BUILD_TRAINER
if HAVE_GTEST
check_PROGRAMS += tests/unit/trainer/trainer_test
TESTS += tests/unit/trainer/trainer_test
tests_unit_trainer_trainer_test_SOURCES = \
	tests/unit/trainer/loop_state_test.cpp \
	tests/unit/trainer/options_test.cpp \
	tests/unit/trainer/prediction_writer_test.cpp
tests_unit_trainer_trainer_test_CPPFLAGS = $(AM_CPPFLAGS) $(HDF5_CPPFLAGS)
tests_unit_trainer_trainer_test_LDADD = $(GTEST_MAIN_LIBS) $(TRAINER_LIBS)
endif
endif
