# Keras files in and out, models, losses and metrics by Keras' names. The layer classes are in layers/.
noinst_LIBRARIES += lib/keras/libkeras.a
lib_keras_libkeras_a_SOURCES = \
	%D%/build_graph.cpp \
	%D%/call_config.h %D%/call_config.cpp \
	%D%/flatten.h %D%/flatten.cpp \
	%D%/json_access.h %D%/json_access.cpp \
	%D%/layer.h \
	%D%/layer_order.h %D%/layer_order.cpp \
	%D%/loss_config.h %D%/loss_config.cpp \
	%D%/losses_metrics.h %D%/losses_metrics.cpp \
	%D%/metric_config.h %D%/metric_config.cpp \
	%D%/model.h %D%/model.cpp \
	%D%/model_file.h %D%/model_file.cpp \
	%D%/model_tree.h %D%/model_tree.cpp \
	%D%/save_model.cpp \
	%D%/snake_case.h %D%/snake_case.cpp \
	%D%/weight_arrays.h %D%/weight_arrays.cpp \
	%D%/weights_legacy.cpp \
	%D%/weights_vars.cpp \
	%D%/zip_archive.h %D%/zip_archive.cpp
lib_keras_libkeras_a_CPPFLAGS = $(AM_CPPFLAGS) $(HDF5_CPPFLAGS) $(LIBZIP_CFLAGS)
# Linked with HDF5FILE_LIBS, GRAPH_LIBS, TENSOR_LIBS, BASE_LIBS after it.
KERAS_LIBS = lib/keras/libkeras.a $(KERAS_LAYERS_LIBS)
KERAS_LINK = $(LIBZIP_LIBS) $(HDF5_LINK)

# For tests/golden/test_keras_files.py: loads any model file, writes the .h5.
noinst_PROGRAMS += tests/unit/keras/convert_model
tests_unit_keras_convert_model_SOURCES = tests/unit/keras/convert_model.cpp
tests_unit_keras_convert_model_CPPFLAGS = $(AM_CPPFLAGS) $(HDF5_CPPFLAGS)
tests_unit_keras_convert_model_LDADD = $(KERAS_LIBS) $(HDF5FILE_LIBS) $(GRAPH_LIBS) $(TENSOR_LIBS) $(BASE_LIBS) \
	$(KERAS_LINK) $(BASE_LINK)

if HAVE_GTEST
check_PROGRAMS += tests/unit/keras/keras_test
TESTS += tests/unit/keras/keras_test
tests_unit_keras_keras_test_SOURCES = \
	tests/unit/keras/architecture_test.cpp \
	tests/unit/keras/build_graph_test.cpp \
	tests/unit/keras/keras_testing.h \
	tests/unit/keras/layer_order_test.cpp \
	tests/unit/keras/losses_metrics_test.cpp \
	tests/unit/keras/model_file_test.cpp \
	tests/unit/keras/save_model_test.cpp \
	tests/unit/keras/weights_test.cpp
tests_unit_keras_keras_test_CPPFLAGS = $(AM_CPPFLAGS) $(HDF5_CPPFLAGS) $(LIBZIP_CFLAGS)
tests_unit_keras_keras_test_LDADD = $(KERAS_LIBS) $(HDF5FILE_LIBS) $(GRAPH_LIBS) $(TENSOR_LIBS) $(BASE_LIBS) \
	$(GTEST_MAIN_LIBS) $(KERAS_LINK) $(BASE_LINK)
endif
