# SPDX-License-Identifier: Apache-2.0
# libkfuse.so goes to $(libdir), where LD_PRELOAD=libkfuse.so finds it; plugins and the emulator to $(pkglibdir).
