/* The protocols, by name. */
#include "net/protocol/protocol.h"

#include <string.h>

static const struct hocket__proto *const protos[] = {
    &hocket__proto_anthropic,
    &hocket__proto_bedrock,
    &hocket__proto_gemini,
    &hocket__proto_ollama,
    &hocket__proto_openai_chat,
    &hocket__proto_openai_responses,
};

const struct hocket__proto *hocket__proto_find(const char *name)
{
    for (size_t i = 0; i < sizeof(protos) / sizeof(protos[0]); i++)
        if (strcmp(protos[i]->name, name) == 0)
            return protos[i];
    return NULL;
}
