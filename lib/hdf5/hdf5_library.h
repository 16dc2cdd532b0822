// The HDF5 library itself: owners of its handles, and how it is kept quiet.
#pragma once

#include <hdf5.h>

#include <string>

#include "lib/base/handle.h"

namespace stoker::hdf5 {

using FileHandle = Handle<hid_t, H5Fclose, -1>;
using GroupHandle = Handle<hid_t, H5Gclose, -1>;
using DatasetHandle = Handle<hid_t, H5Dclose, -1>;
using SpaceHandle = Handle<hid_t, H5Sclose, -1>;
using TypeHandle = Handle<hid_t, H5Tclose, -1>;
using AttributeHandle = Handle<hid_t, H5Aclose, -1>;
using ObjectHandle = Handle<hid_t, H5Oclose, -1>;
using PropertyHandle = Handle<hid_t, H5Pclose, -1>;

// Switches HDF5's printing off for this thread, and its handler at the exit of the process: what is to be on
// disk is closed by hand.
void quiet_hdf5();

// "1.10.8"
std::string library_version();

}  // namespace stoker::hdf5
