"""The prompts that come with k2tui: natural text of many kinds, since routing and drafts depend on what is said.

A change of any letter changes the prompt set, so that no figure of before is compared with one of after.
"""

from __future__ import annotations

PASSAGES = (
    "The lighthouse at the end of the harbour had been dark for eleven years when the council voted to light it "
    "again. Old Marta, who had kept the last lamp, was asked to come and show the young electrician how the lens "
    "turned. She climbed the hundred and forty steps without a rest, put her palm on the brass and said that it had "
    "always been a little out of true. In heavy weather the beam drew an oval on the water instead of a circle, and "
    "the fishermen knew their own coast by that flaw. Would it be repaired now? The electrician looked at his "
    "drawings, then at the sea, and asked her to tell him first what else the men had steered by.",
    "A sourdough loaf is mostly patience. Stir a spoon of ripe starter into a hundred grams of water, add as much "
    "rye flour, and leave it on the counter until it doubles. In the morning mix it with seven hundred grams of "
    "wheat flour, four hundred and sixty of lukewarm water and fourteen of salt. Fold the dough four times in two "
    "hours; it will go from sticky to silky under your hands. Shape it, let it rest in a floured basket through the "
    "night in the cold, and bake it in a closed iron pot, very hot for the first half hour and with the lid off for "
    "the second. Do not cut it while it still sings.",
    "In a relational database an index is a bargain. Reads that look for a key become quick, because the engine "
    "descends a shallow tree instead of walking over every row; writes become slower, because each of them has to "
    "keep that tree in order. A planner that has good statistics picks the index only when it expects to touch a "
    "small share of the table. When the share is large, a plain scan wins, for the disk and the cache both like to "
    "be read in sequence. So the answer to a slow query is seldom one more index. First look at the plan, then at "
    "the number of rows it guessed, and only then at what could be stored differently.",
    "Dear Mr Okafor, thank you for your letter about the crossing at Mill Lane. You are right that the light for "
    "people on foot is too short: we measured nine seconds, and somebody with a stick needs fourteen. The signal is "
    "run by the region, not by the town, so I have written to them with our figures and with your photographs. Until "
    "they answer, the school has agreed to place a warden there from a quarter to eight. I can't promise you a date. "
    "What I can promise is that I will call them every Monday, and that you will hear from me after each of those "
    "calls, whether there is news or not. Yours sincerely, Ines Halloran.",
    "Tides are the sea's answer to two pulls at once. The moon draws the near side of the Earth a little more than "
    "the centre, and the centre a little more than the far side, so that the water bulges on both. The sun does the "
    "same with less than half the strength. When all three stand in a line, at new and at full moon, the two add up "
    "to spring tides; when they stand at a right angle they work against each other. But a basin has a rhythm of its "
    "own. In the Bay of Fundy the water rocks with nearly the same period as the moon's pull, and a swell of one "
    "metre becomes a wall of sixteen.",
    'def merge(left, right):\n    """Two sorted lists as one."""\n    merged, i, j = [], 0, 0\n    while i < '
    "len(left) and j < len(right):\n        if left[i] <= right[j]:\n            merged.append(left[i])\n            "
    "i += 1\n        else:\n            merged.append(right[j])\n            j += 1\n    return merged + left[i:] + "
    "right[j:]\n\n\nThis function is called by a sort that splits its input in halves. A colleague says that it is "
    "stable, another one that it copies too much, and a third that it breaks when one of the lists is empty. Walk "
    "through it with the lists 1, 4, 4 and 2, 4, 9, say who is right, and show how the copies at the end could be "
    "avoided.",
    "The witness said that she had left the tram at the market, at about ten past six, because the clock over the "
    "pharmacy had just begun to ring. She remembered rain, but the weather office reported none before seven. She "
    "remembered a man with a green umbrella who held the door, and the umbrella was found next day beneath a seat of "
    "line four, which does not stop at the market. The inspector wrote the three facts on three cards and moved them "
    "about. If she had been on line four, she had passed the market. If the clock was fast, it might have rained. He "
    "picked up the telephone and asked who winds the pharmacy's clock.",
    "Before you open a beehive in spring, wait for a day on which you would sit outside without a coat. Smoke the "
    "entrance lightly, lift the lid, and look before you touch anything. A good colony covers six or more frames, "
    "has eggs standing upright in the cells, and a band of honey above the brood. If there are eggs you need not "
    "search for the queen: she was there within three days. Scrape the floor clean, note the stores, and close up "
    "within ten minutes, for the brood chills quickly. A weak colony is better joined with a strong one now than "
    "nursed until June. Write down what you saw; by the third hive you will mix them up.",
    "Three friends share a boat. Ana pays half of the mooring and takes it out on every second weekend; Ben pays a "
    "third and comes only in August; Carla pays the rest and does all the repairs. This year the engine has to be "
    "replaced, which costs four thousand two hundred. Ana proposes to split the bill by what each pays for the "
    "mooring. Ben thinks that the hours on the water should count, and he has twenty of a hundred and sixty. Carla "
    "says nothing, but she has spent thirty hours below deck with a spanner. Find a rule that each of them could "
    "call fair, compute what each would pay, and say what could be held against it.",
    "The old town lies on a spur above the river, and whoever comes by train sees it first from below: a wall, a row "
    "of gables, a tower with a copper hat. From the station a lane climbs between gardens to the lower gate. Go on a "
    "Thursday, when the market fills the square and the cheese women from the plateau shout prices across it. The "
    "museum in the granary is small and worth an hour for the maps alone. In the afternoon walk the ring path "
    "outside of the walls; it takes forty minutes, with benches where the view opens to the south. The last bus back "
    "to the valley leaves at twenty to seven, and it does leave.",
    "Antibiotics do not make bacteria resistant; they choose. In every large population a few cells carry, by "
    "chance, a pump that throws the drug out or an enzyme that cuts it. Without the drug these cells are at a small "
    "loss, since pumps cost energy. With it they are the only ones left, and an hour later they are the majority. "
    "What makes the matter worse is that the recipe for a pump often lies on a ring of DNA that can be handed from "
    "one cell to the next, even between species. A course that is broken off half-way is therefore a poor idea for "
    "one reason, and a drug given to healthy cattle for another.",
    "Minutes of the meeting of the fourth of March. Present: Lindqvist, Oyelaran, Petrov, Sato; excused: Brandt. "
    "First, the move of the archive: the new cellar is dry, but the lift takes no more than two hundred kilograms, "
    "so that the map cabinets must be emptied. Petrov asks the movers for an offer until the tenth. Second, the "
    "failed backup: it had been full for nine days and nobody was told, since the alarm went to a person who has "
    "left. Sato sets up a shared address and tests it with a real alarm. Third, any other business: Oyelaran asks "
    "for plants. Agreed without a vote. The next meeting is on the eighteenth, an hour earlier than usual.",
    "Why does a kettle sing before it boils? As the bottom grows hot, the thin layer of water on it passes the "
    "boiling point first, and small bubbles of vapour form there. They rise a few millimetres into water that is "
    "still cooler, and collapse with a tiny clap. Thousands of such claps a second make the hiss, which grows louder "
    "as the layer thickens. Then, quite suddenly, the kettle falls quiet: now all of the water is hot enough for "
    "bubbles to live until they reach the surface. What you hear from there on is only the splashing. The old rule "
    "of the tea house, to listen for the wind in the pines and then for silence, is good physics.",
    "She played the first movement as if she were reading a letter aloud that was not meant for her: quickly, "
    "without colour, her eyes already on the next line. The audience coughed. Then, in the slow one, something gave "
    "way. The left hand began to lag, hardly more than a breath, and the melody stood over it like somebody who "
    "waits at a door. One forgot the hall, the programme, the rain on the roof. I have heard the sonata played "
    "better, cleaner, with more reverence for the printed page. I have not heard it sound so much as though it might "
    "go wrong, nor been so glad when it did not. The finale was too fast, and nobody minded.",
    "Wenn ein Fluss in die Ebene tritt, verliert er an Gefälle und beginnt zu pendeln. An der Außenseite jeder "
    "Biegung fließt das Wasser schneller und nagt am Ufer; innen wird es langsam und lässt Sand und Kies fallen. So "
    "wandert die Schlinge nach außen, bis nur noch ein schmaler Hals zwei Bögen trennt. Ein Hochwasser bricht "
    "hindurch, und was vorher ein Umweg von drei Kilometern war, liegt als stiller Altarm im Wald. Explain in "
    "English what the text says, in which order it happens, and what an engineer would change by putting the river "
    "into a straight bed: what would become of the slope, of the ground water, and of the towns below?",
    "The robot in the greenhouse had one duty, to turn the seedlings toward the light, and it had done so for so "
    "long that the trays had worn two grooves into the floor. When the roof was painted white for the summer the "
    "light came from all sides at once. The robot turned a tray, measured, turned it back. By evening it had moved "
    "each plant four hundred times. The gardener, who found it trembling in the aisle, did not reprogram it. He hung "
    "a single lamp at the east end and let it burn for an hour each morning. That gave them all, he told his "
    "daughter, something to agree on. Go on with the story from the day on which the lamp fails.",
)

TASK = (
    "Here are two texts. First sum up each of them in two sentences. Then explain in detail, with examples of your "
    "own, what a careful reader could learn from each, where the writer may be wrong, and what you would ask the "
    "writer. Go on for as long as there is something to say."
)
