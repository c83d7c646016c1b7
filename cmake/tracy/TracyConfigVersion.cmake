# SPDX-License-Identifier: Apache-2.0
#
# The headers have the macros of Tracy 0.14, and with them those of the versions before it.
set(PACKAGE_VERSION 0.14.0)
set(PACKAGE_VERSION_COMPATIBLE TRUE)
