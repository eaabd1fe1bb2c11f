/* JSON. Which of them:
 *
 *     read.h     text that comes from outside, token by token: strict, without memory of its own
 *     write.h    text that we make, into a buffer
 *     tree.h     a tree, where a value has to be looked at from several sides
 *     lenient.h  what a model meant to be JSON, made strict
 *     scan.h     how far a text goes without an escape; for what reads or writes byte by byte */
#pragma once

#include "base/json/lenient.h"
#include "base/json/read.h"
#include "base/json/scan.h"
#include "base/json/tree.h"
#include "base/json/write.h"
