/* Stands in for libFuzzer where there is no clang: gives a target every file of the directories
 * that are named, one after the other. It searches nothing; under the sanitizers it shows
 * whether what was found once has come back. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0)
        return -1;
    long size = ftell(f);
    uint8_t *data = malloc(size > 0 ? (size_t) size : 1); /* exact: the sanitizer sees its end */
    rewind(f);
    if (!data || size < 0 || fread(data, 1, (size_t) size, f) != (size_t) size)
        return -1;
    fclose(f);
    fprintf(stderr, "%s\n", path); /* the last one is the one that crashed */
    LLVMFuzzerTestOneInput(data, (size_t) size);
    free(data);
    return 0;
}

static int run_directory(const char *dir)
{
    char path[4096];
    int n = 0;
    DIR *d = opendir(dir);
    if (!d)
        return -1;
    for (struct dirent *e; (e = readdir(d));) {
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
        if (run_file(path) < 0) {
            fprintf(stderr, "cannot read %s\n", path);
            return -1;
        }
        n++;
    }
    closedir(d);
    return n;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (run_directory(argv[i]) <= 0) { /* an empty corpus tests nothing */
            fprintf(stderr, "nothing to run in %s\n", argv[i]);
            return 1;
        }
    return argc > 1 ? 0 : 1;
}
