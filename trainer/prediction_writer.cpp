#include "trainer/prediction_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>

#include "lib/base/error.h"
#include "lib/base/files.h"
#include "lib/hdf5/hdf5_file.h"

namespace stoker::trainer {
namespace {

std::string temporary_name(const std::string& path) { return path + ".tmp." + std::to_string(::getpid()); }

class Hdf5Writer : public PredictionWriter {
 public:
  Hdf5Writer(const std::string& path, std::int64_t rows, const Shape& row)
      : path_(path),
        temporary_(temporary_name(path)),
        file_(hdf5::File::create(temporary_)),
        rows_(file_.create_rows("predictions", row.with_batch(rows), H5T_IEEE_F32LE)) {}
  ~Hdf5Writer() override { ::unlink(temporary_.c_str()); }

  void append(const float* values, std::int64_t rows) override {
    rows_.append(H5T_NATIVE_FLOAT, values, rows);
  }
  void finish() override {
    rows_.close();
    file_.close();
    sync_path(temporary_);
    rename_durably(temporary_, path_);
  }

 private:
  std::string path_, temporary_;
  hdf5::File file_;
  hdf5::RowWriter rows_;
};

// What a stream of bytes can hold: NPY and CSV.
class StreamWriter : public PredictionWriter {
 public:
  explicit StreamWriter(const std::string& path) : path_(path), temporary_(temporary_name(path)) {
    fd_.reset(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!fd_) throw_errno("open", temporary_);
  }
  ~StreamWriter() override { ::unlink(temporary_.c_str()); }

  void finish() override {
    sync_path(temporary_);
    rename_durably(temporary_, path_);
  }

 protected:
  void write(const void* data, std::size_t bytes) {
    if (!write_all(fd_.get(), data, bytes)) throw_errno("write", temporary_);
  }

 private:
  std::string path_, temporary_;
  FileDescriptor fd_;
};

// Format: numpy.lib.format, version 1.0; the header is padded with blanks to a multiple of 64 bytes.
class NpyWriter : public StreamWriter {
 public:
  NpyWriter(const std::string& path, std::int64_t rows, const Shape& row)
      : StreamWriter(path), row_elements_(row.elements()) {
    std::string header =
        "{'descr': '<f4', 'fortran_order': False, 'shape': " + to_string(row.with_batch(rows)) + ", }";
    header.append(63 - (10 + header.size()) % 64, ' ');
    header += '\n';
    const auto size = static_cast<unsigned>(header.size());
    const char head[10] = {
        '\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, static_cast<char>(size & 0xFF), static_cast<char>(size >> 8)};
    write(head, sizeof head);
    write(header.data(), header.size());
  }
  void append(const float* values, std::int64_t rows) override {
    write(values, static_cast<std::size_t>(rows * row_elements_) * sizeof(float));
  }

 private:
  std::int64_t row_elements_;
};

class CsvWriter : public StreamWriter {
 public:
  CsvWriter(const std::string& path, const Shape& row) : StreamWriter(path), columns_(row.elements()) {
    if (row.rank() > 1)
      throw UserError("rows of several axes do not fit a CSV file", path,
                      "give --output FILE.h5 or FILE.npy");
  }
  void append(const float* values, std::int64_t rows) override {
    std::string text;
    for (std::int64_t i = 0; i < rows * columns_; ++i) {
      char number[32];
      text.append(number, std::to_chars(number, number + sizeof number, values[i]).ptr);
      text += (i + 1) % columns_ == 0 ? '\n' : ',';
    }
    write(text.data(), text.size());
  }

 private:
  std::int64_t columns_;
};

}  // namespace

std::unique_ptr<PredictionWriter> make_prediction_writer(const std::string& path, std::int64_t rows,
                                                         const Shape& row) {
  if (path.ends_with(".h5") || path.ends_with(".hdf5")) return std::make_unique<Hdf5Writer>(path, rows, row);
  if (path.ends_with(".npy")) return std::make_unique<NpyWriter>(path, rows, row);
  return std::make_unique<CsvWriter>(path, row);
}

}  // namespace stoker::trainer
