# STOKER_CXX20: the language standard, and OpenMP, which oneDNN's runtime shares with our own kernels.
AC_DEFUN([STOKER_CXX20], [
  AC_MSG_CHECKING([whether $CXX takes -std=c++20])
  stoker_save_CXXFLAGS=$CXXFLAGS
  CXXFLAGS="$CXXFLAGS -std=c++20"
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <concepts>
#include <span>]], [[std::span<int> s; static_assert(std::integral<int>); return (int)s.size();]])],
    [AC_MSG_RESULT([yes])], [AC_MSG_RESULT([no]); AC_MSG_ERROR([a C++20 compiler is needed (g++ 12 or later)])])
  CXXFLAGS=$stoker_save_CXXFLAGS
  AC_OPENMP
  AS_IF([test -z "$OPENMP_CXXFLAGS"], [AC_MSG_ERROR([a compiler with OpenMP is needed])])
  BASE_CXXFLAGS="-std=c++20 -fPIC $OPENMP_CXXFLAGS"
  AC_SUBST([BASE_CXXFLAGS])
])

# STOKER_WARNINGS: --enable-werror, for CI.
AC_DEFUN([STOKER_WARNINGS], [
  AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [make compiler warnings errors])], [], [enable_werror=no])
  WARNING_CXXFLAGS="-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wno-missing-field-initializers"
  AS_IF([test "x$enable_werror" = xyes], [WARNING_CXXFLAGS="$WARNING_CXXFLAGS -Werror"])
  AC_SUBST([WARNING_CXXFLAGS])
])

# STOKER_SANITIZERS: --enable-sanitizers[=address,undefined|thread]
AC_DEFUN([STOKER_SANITIZERS], [
  AC_ARG_ENABLE([sanitizers], [AS_HELP_STRING([--enable-sanitizers@<:@=LIST@:>@],
    [build with -fsanitize=LIST @<:@address,undefined@:>@; LIST may be thread])], [], [enable_sanitizers=no])
  AS_CASE([$enable_sanitizers], [no], [SANITIZER_FLAGS=],
    [yes], [SANITIZER_FLAGS="-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer"],
    [SANITIZER_FLAGS="-fsanitize=$enable_sanitizers -fno-omit-frame-pointer"])
  # Instrumented code hides initialisations from the compiler, which then warns of variables in the standard library.
  AS_IF([test -n "$SANITIZER_FLAGS"], [SANITIZER_FLAGS="$SANITIZER_FLAGS -Wno-maybe-uninitialized"])
  AC_SUBST([SANITIZER_FLAGS])
])
