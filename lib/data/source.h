// Sources of samples. A source is an index of records: each is located and read on its own, so that sharding,
// shuffling and resuming are arithmetic on indices (sampler.h, loader.h).
//
// DATA, as --train, --validation and --data take it (CONTRACT):
//
//   PATH                                 the kind is found from the content, else from the extension
//   KIND:PATH[,PATH][?key=value&…]       PATH,PATH is x,y for the kinds idx and npy
//
//   kind      content                                     keys besides the common ones
//   hdf5      any HDF5 file                               x y
//   npz       numpy.savez, numpy.savez_compressed         x y
//   npy       numpy.save: x.npy[,y.npy]
//   idx       MNIST's format: images[,labels]
//   cifar10   a folder of cifar-10-batches-bin, or files  part
//   cifar100  a folder of cifar-100-binary, or files      part labels
//   csv       a table, a sample a line                    label header separator ignore classes
//
//   x=NAME y=NAME       datasets or members; by default x, x_train, images, data … and y, y_train, labels,
//                       target …; y=none: no y
//   part=train|test     [train]
//   labels=fine|coarse  [fine]
//   label=COLUMN        name or number from 0, several with '/'; none: no label [the last column]
//   header=1|0          [found from the first line]
//   separator=C         a character or tab, comma, semicolon, space, pipe [a tab in *.tsv, else a comma]
//   ignore=COLUMN/…     columns that are no features
//   classes=A/B/…       names of text labels in the order of their numbers [all names of the file, sorted]
//
//   common keys, applied to x in this order:
//   rows=A-B          only these samples, B included; rows=A- to the end
//   layout=chw        a record is (channels, height, width): it is turned to (height, width, channels)
//   shape=28x28x1     another shape of a record with as many elements
//   scale=S offset=O  x·S + O; S may be a fraction: 1/255
//   mean=A/B/… std=A/B/…   then (x − mean)/std, one number or one for each channel (the last axis)
//
// IDX, NPY and CSV files may be gzip-compressed, whatever their name. Numbers have a point in every locale.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/data/element.h"
#include "lib/tensor/shape.h"

namespace stoker::data {

enum class TargetKind : std::uint8_t {
  none,    // the source has no y
  labels,  // one integer a sample
  values,  // numbers: one or k a sample
};

struct Description {
  std::string spec;   // DATA as given
  Shape x_shape;      // of one sample as read() gives it; (1) for a file of scalars
  Element x_element;  // in the file
  TargetKind y_kind = TargetKind::none;
  Shape y_shape;                         // of one sample: () for labels, (k) for values
  Element y_element;                     // in the file
  std::int64_t samples = 0;              // at least 1
  std::int64_t classes = 0;              // 0: the file does not say
  std::vector<std::string> class_names;  // of text labels and of CIFAR; empty otherwise
  // 32 hex digits over the content and what the keys make of it; not over paths or times. Files of up to 64
  // MiB go in whole, larger ones by their size and 1,024 pieces of 64 KiB spread evenly from the first to the
  // last byte.
  std::string digest;
  std::string advice;  // what would make reading faster, for a warning; mostly empty
  std::string text;    // for people: "60000 samples (28, 28) uint8, labels uint8"
};

// What read() works in, one a thread; it grows to the largest read and is then reused.
struct Scratch {
  std::vector<std::byte> bytes;
  std::vector<std::byte> ordered_bytes;
  std::vector<std::int64_t> order;
  std::vector<std::int64_t> rows;
  std::vector<float> floats;
};

// Where read() puts y: at most one is set. Labels may be had from any source whose y is one whole number a
// sample, values from any that has a y (labels become numbers).
struct TargetBuffer {
  std::int32_t* labels = nullptr;  // (indices)
  float* values = nullptr;         // (indices, y elements)
};

class Source {
 public:
  virtual ~Source() = default;
  virtual const Description& description() const = 0;

  // The samples `indices` (each in [0, samples), any order, repeats allowed): x as fp32, (indices, x_shape),
  // where not null, and y where asked for. Thread-safe; blocks on the file. Throws UserError for a damaged
  // file, and for a label that is no whole number or beyond 32 bits, naming file, sample and value.
  virtual void read(std::span<const std::int64_t> indices, float* x, TargetBuffer y,
                    Scratch& scratch) const = 0;

  // "FILE: DATASET, sample 17", for messages about the y of a sample.
  virtual std::string y_where(std::int64_t index) const = 0;
};

struct OpenOptions {
  // What may be held in memory; 0: the default, a quarter of what the cgroup or machine has. Divide it among
  // the processes of a node. Compressed data that allows no random access must fit; what else fits is held
  // where that is faster.
  std::uint64_t memory_bytes = 0;
  // Names of text labels in the order of their numbers, so that every file of a run numbers them alike: those
  // of the training data for its validation data. `classes=` in DATA wins. Empty: the file's own, sorted.
  std::vector<std::string> class_names;
  // False: y will not be read. A CSV file's label columns are then not looked at and may be empty.
  bool targets = true;
};

// Throws UserError for what is missing, damaged, of an unknown kind, without samples, or has unknown keys
// (listing the known ones).
std::unique_ptr<Source> open_source(std::string_view spec, const OpenOptions& options = {});

// The paths that a text names as DATA: files or folders, whether they exist or not.
std::vector<std::string> paths_of(std::string_view spec);

// The samples [begin, end) of `source` as a source of their own; begin < end.
std::unique_ptr<Source> slice(std::shared_ptr<const Source> source, std::int64_t begin, std::int64_t end);

// The checks before the first step: they read every y once. They throw UserError naming file, sample and
// value.
//
// Every label is a whole number in [0, classes); classes = 0: only not negative. Returns the largest label
// + 1.
std::int64_t check_labels(const Source& source, std::int64_t classes);
// Every target value is finite.
void check_targets_finite(const Source& source);

}  // namespace stoker::data
