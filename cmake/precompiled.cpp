// Headers that rooms share, and those that tests share, are precompiled with this file.
