// The headers that tests share are precompiled with this file, once for all of them.
