/* What the files of this concept share. */
#pragma once

#include "cli/story/story.h"

#define INDENT 2

/* What each agent said and did. */
void cli_story_transcripts(struct cli_paper *p, const hocket_json *story);

/* The text of a member; "" where it has none. */
const char *cli_story_text(const hocket_json *object, const char *name, size_t *n);
/* A heading, with an empty line before it. */
void cli_story_heading(struct cli_paper *p, const char *text);
/* The member as paragraphs. */
void cli_story_paragraphs(struct cli_paper *p, enum cli_tone tone, const hocket_json *object,
    const char *name, size_t indent);
/* The member on one line, as much as fits. */
void cli_story_add(struct cli_paper *p, enum cli_tone tone, const hocket_json *object,
    const char *name, size_t columns);
