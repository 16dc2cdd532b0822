# Three states a package: auto warns, yes or a path errors when it is missing, no skips.
# Each macro sets X_CPPFLAGS, X_LDFLAGS, X_LIBS and have_X (yes or no), never LIBS.

# STOKER_WITH(name, default, help): --with-NAME; sets with_NAME and, for a path, NAME_prefix.
AC_DEFUN([STOKER_WITH], [
  AC_ARG_WITH([$1], [AS_HELP_STRING([--with-$1@<:@=DIR|no@:>@], [$3])], [], [with_$1=$2])
  AS_CASE([$with_$1], [yes|no|auto], [$1_prefix=], [$1_prefix=$with_$1])
])

# STOKER_MISSING(name, VARIABLE, what): an error if asked for, else a warning.
AC_DEFUN([STOKER_MISSING], [
  AS_IF([test "x$with_$1" = xauto], [AC_MSG_WARN([$3 not found: built without it])],
    [AC_MSG_ERROR([$3 not found; install it or give --with-$1=DIR])])
])

# STOKER_TRY_LINK(VARIABLE, includes, body): have_VARIABLE by linking with VARIABLE's flags.
AC_DEFUN([STOKER_TRY_LINK], [
  stoker_save_CPPFLAGS=$CPPFLAGS; stoker_save_LDFLAGS=$LDFLAGS; stoker_save_LIBS=$LIBS
  CPPFLAGS="$CPPFLAGS $$1_CPPFLAGS"; LDFLAGS="$LDFLAGS $$1_LDFLAGS"; LIBS="$$1_LIBS $LIBS"
  AC_LINK_IFELSE([AC_LANG_PROGRAM([$2], [$3])], [have_$1=yes], [have_$1=no])
  CPPFLAGS=$stoker_save_CPPFLAGS; LDFLAGS=$stoker_save_LDFLAGS; LIBS=$stoker_save_LIBS
  AC_SUBST([$1_CPPFLAGS]) AC_SUBST([$1_LDFLAGS]) AC_SUBST([$1_LIBS])
])

AC_DEFUN([STOKER_HDF5], [
  STOKER_WITH([hdf5], [yes], [serial HDF5])
  HDF5_CPPFLAGS= HDF5_LDFLAGS= HDF5_LIBS=-lhdf5 have_HDF5=no
  AS_IF([test "x$with_hdf5" != xno], [
    AC_MSG_CHECKING([for serial HDF5])
    AS_IF([test -n "$hdf5_prefix"], [HDF5_CPPFLAGS="-I$hdf5_prefix/include"; HDF5_LDFLAGS="-L$hdf5_prefix/lib -Wl,-rpath,$hdf5_prefix/lib"],
      [for stoker_pc in hdf5-serial hdf5; do
         AS_IF([$PKG_CONFIG --exists $stoker_pc 2>/dev/null], [
           HDF5_CPPFLAGS=`$PKG_CONFIG --cflags $stoker_pc`; HDF5_LDFLAGS=`$PKG_CONFIG --libs-only-L $stoker_pc`; break])
       done])
    STOKER_TRY_LINK([HDF5], [[#include <hdf5.h>]], [[return H5open();]])
    AC_MSG_RESULT([$have_HDF5])
    AS_IF([test $have_HDF5 = no], [STOKER_MISSING([hdf5], [HDF5], [HDF5 (libhdf5-dev)])])
  ])
])

AC_DEFUN([STOKER_ONEDNN], [
  STOKER_WITH([onednn], [yes], [oneDNN, for the CPU backend])
  ONEDNN_CPPFLAGS= ONEDNN_LDFLAGS= ONEDNN_LIBS=-ldnnl have_ONEDNN=no
  AS_IF([test "x$with_onednn" != xno], [
    AC_MSG_CHECKING([for oneDNN])
    AS_IF([test -n "$onednn_prefix"], [ONEDNN_CPPFLAGS="-I$onednn_prefix/include"; ONEDNN_LDFLAGS="-L$onednn_prefix/lib -Wl,-rpath,$onednn_prefix/lib"])
    STOKER_TRY_LINK([ONEDNN], [[#include <oneapi/dnnl/dnnl.hpp>]], [[dnnl::engine e(dnnl::engine::kind::cpu, 0); return 0;]])
    AC_MSG_RESULT([$have_ONEDNN])
    AS_IF([test $have_ONEDNN = no], [STOKER_MISSING([onednn], [ONEDNN], [oneDNN (libdnnl-dev)])])
  ])
])

AC_DEFUN([STOKER_BOOST_PROGRAM_OPTIONS], [
  BOOST_CPPFLAGS= BOOST_LDFLAGS= BOOST_LIBS=-lboost_program_options
  AC_MSG_CHECKING([for Boost.Program_options])
  STOKER_TRY_LINK([BOOST], [[#include <boost/program_options.hpp>]], [[boost::program_options::options_description d("x"); return (int)d.options().size();]])
  AC_MSG_RESULT([$have_BOOST])
  AS_IF([test $have_BOOST = no], [AC_MSG_ERROR([Boost.Program_options not found (libboost-program-options-dev)])])
])

# The small libraries that have no option of their own.
AC_DEFUN([STOKER_LIBRARIES], [
  PKG_CHECK_MODULES([LIBZIP], [libzip])
  PKG_CHECK_MODULES([ZLIB], [zlib])
  PKG_CHECK_MODULES([XXHASH], [libxxhash])
  PKG_CHECK_MODULES([FMT], [fmt])
  AC_MSG_CHECKING([for nlohmann-json])
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <nlohmann/json.hpp>]], [[nlohmann::json j; return (int)j.size();]])],
    [AC_MSG_RESULT([yes])], [AC_MSG_RESULT([no]); AC_MSG_ERROR([nlohmann-json not found (nlohmann-json3-dev)])])
])

AC_DEFUN([STOKER_MPI], [
  STOKER_WITH([mpi], [auto], [MPI, for more than one rank])
  MPI_CPPFLAGS= MPI_LDFLAGS= MPI_LIBS= have_MPI=no MPIRUN=
  AS_IF([test "x$with_mpi" != xno], [
    AS_IF([test -n "$mpi_prefix"], [AC_PATH_PROG([MPICXX], [mpicxx], [], [$mpi_prefix/bin])
                                    AC_PATH_PROG([MPIRUN], [mpirun], [], [$mpi_prefix/bin])],
      [AC_PATH_PROG([MPICXX], [mpicxx]) AC_PATH_PROG([MPIRUN], [mpirun])])
    AC_MSG_CHECKING([for MPI])
    AS_IF([test -n "$MPICXX"], [
      MPI_CPPFLAGS="-DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX `$MPICXX --showme:compile 2>/dev/null | sed 's/-pthread//'`"
      MPI_LIBS="`$MPICXX --showme:link 2>/dev/null`"
      STOKER_TRY_LINK([MPI], [[#include <mpi.h>]], [[return MPI_Finalize();]])])
    AC_MSG_RESULT([$have_MPI])
    AS_IF([test $have_MPI = no], [STOKER_MISSING([mpi], [MPI], [MPI (libopenmpi-dev)])])
  ])
  AM_CONDITIONAL([HAVE_MPI], [test $have_MPI = yes])
  AS_IF([test $have_MPI = yes], [AC_DEFINE([HAVE_MPI], [1], [MPI was found])])
])

AC_DEFUN([STOKER_CUDA], [
  STOKER_WITH([cuda], [auto], [the CUDA toolkit])
  have_CUDA=no CUDA_CPPFLAGS= CUDA_LDFLAGS= CUDA_LIBS=
  AS_IF([test "x$with_cuda" != xno], [
    AS_IF([test -z "$cuda_prefix"], [cuda_prefix=/usr/local/cuda])
    AC_PATH_PROG([NVCC], [nvcc], [], [$cuda_prefix/bin:$PATH])
    AC_MSG_CHECKING([for the CUDA toolkit])
    AS_IF([test -n "$NVCC" && test -f "$cuda_prefix/include/cuda_runtime_api.h"], [have_CUDA=yes
      CUDA_CPPFLAGS="-I$cuda_prefix/include"; CUDA_LDFLAGS="-L$cuda_prefix/lib64"; CUDA_LIBS=-lcudart])
    AC_MSG_RESULT([$have_CUDA])
    AS_IF([test $have_CUDA = no], [STOKER_MISSING([cuda], [CUDA], [the CUDA toolkit])])
  ])
  AC_SUBST([CUDA_CPPFLAGS]) AC_SUBST([CUDA_LDFLAGS]) AC_SUBST([CUDA_LIBS])
])

AC_DEFUN([STOKER_NCCL], [
  STOKER_WITH([nccl], [auto], [NCCL; searched below the CUDA prefix too])
  have_NCCL=no NCCL_CPPFLAGS= NCCL_LDFLAGS= NCCL_LIBS=-lnccl
  AS_IF([test "x$with_nccl" != xno], [
    AS_IF([test -z "$nccl_prefix"], [AS_IF([test -f "$cuda_prefix/include/nccl.h"], [nccl_prefix=$cuda_prefix], [nccl_prefix=/usr])])
    NCCL_CPPFLAGS="-I$nccl_prefix/include $CUDA_CPPFLAGS"
    NCCL_LDFLAGS="-L$nccl_prefix/lib64 -L$nccl_prefix/lib"
    AC_MSG_CHECKING([for NCCL])
    STOKER_TRY_LINK([NCCL], [[#include <nccl.h>]], [[int v; return (int)ncclGetVersion(&v);]])
    AC_MSG_RESULT([$have_NCCL])
    AS_IF([test $have_NCCL = no], [STOKER_MISSING([nccl], [NCCL], [NCCL])])
  ])
])

AC_DEFUN([STOKER_SLURM], [
  STOKER_WITH([slurm], [auto], [the Slurm headers, for the plugin])
  have_SLURM=no SLURM_CPPFLAGS=
  AS_IF([test "x$with_slurm" != xno], [
    AS_IF([test -n "$slurm_prefix"], [SLURM_CPPFLAGS="-I$slurm_prefix/include"])
    AC_MSG_CHECKING([for slurm/spank.h])
    stoker_save_CPPFLAGS=$CPPFLAGS; CPPFLAGS="$CPPFLAGS $SLURM_CPPFLAGS"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <slurm/spank.h>]], [])], [have_SLURM=yes])
    CPPFLAGS=$stoker_save_CPPFLAGS
    AC_MSG_RESULT([$have_SLURM])
    AS_IF([test $have_SLURM = no], [STOKER_MISSING([slurm], [SLURM], [Slurm headers (libslurm-dev)])])
  ])
  AC_SUBST([SLURM_CPPFLAGS])
])

AC_DEFUN([STOKER_GTEST], [
  have_GTEST=no
  GTEST_CPPFLAGS= GTEST_LDFLAGS= GTEST_LIBS="-lgtest -lpthread"
  AC_MSG_CHECKING([for GoogleTest])
  STOKER_TRY_LINK([GTEST], [[#include <gtest/gtest.h>]], [[int n = 0; testing::InitGoogleTest(&n, (char**)nullptr); return 0;]])
  AC_MSG_RESULT([$have_GTEST])
  AS_IF([test $have_GTEST = no], [AC_MSG_WARN([GoogleTest not found (libgtest-dev): make check runs no unit tests])])
  AM_CONDITIONAL([HAVE_GTEST], [test $have_GTEST = yes])
])

AC_DEFUN([STOKER_SUMMARY], [
  AM_COND_IF([BUILD_TRAINER], [stoker_trainer=yes], [stoker_trainer="no (needs HDF5 and oneDNN)"])
  cat <<EOF

  $PACKAGE_NAME $PACKAGE_VERSION            found   flags
  HDF5 (serial)           $have_HDF5     $HDF5_CPPFLAGS $HDF5_LDFLAGS $HDF5_LIBS
  oneDNN                  $have_ONEDNN     $ONEDNN_CPPFLAGS $ONEDNN_LDFLAGS $ONEDNN_LIBS
  Boost.Program_options   $have_BOOST     $BOOST_LIBS
  MPI                     $have_MPI     $MPICXX
  CUDA toolkit            $have_CUDA     $NVCC
  NCCL                    $have_NCCL     $NCCL_CPPFLAGS
  Slurm headers           $have_SLURM     $SLURM_CPPFLAGS
  GoogleTest              $have_GTEST
  sanitizers              $enable_sanitizers
  warnings are errors     $enable_werror
  trainer is built        $stoker_trainer
  compiler                $CXX $CXXFLAGS

EOF
])
