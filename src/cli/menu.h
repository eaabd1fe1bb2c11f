/* `hocket` alone, on a terminal: a short menu of what to do. */
#pragma once

#include <stdbool.h>

#define CLI_MENU_WORDS 2

/* Whether somebody is there who can choose. */
bool cli_menu_wanted(void);

/* Asks, and puts the words of the chosen command into `words`. Returns how many they are; 0: nothing was chosen. */
int cli_menu(char *words[CLI_MENU_WORDS]);
