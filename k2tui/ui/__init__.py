"""Eyes and hands: screens, widgets, keys, themes. The only room that imports Textual."""
