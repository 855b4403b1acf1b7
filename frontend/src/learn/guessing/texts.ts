/** Texts that the engine may guess well, as possible answers, of our own writing. */

export interface Sample {
  name: string;
  prompt: string;
  answer: string;
}

export const SAMPLES: Sample[] = [
  {
    name: "A refrain",
    prompt: "Write a song about rain with a refrain.",
    answer:
      "The rain comes down on the garden wall,\nthe rain comes down, and I hear it call.\nThe rain comes down on the cobbled street,\nthe rain comes down on my tired feet.\nThe rain comes down on the garden wall,\nthe rain comes down, and I hear it call.",
  },
  {
    name: "A correction",
    prompt:
      "Correct the spelling: The recieved parcel was adressed to the wrong house, so the neighbour brought it over in the evening.",
    answer:
      "The received parcel was addressed to the wrong house, so the neighbour brought it over in the evening.",
  },
  {
    name: "Code",
    prompt: "Write a function for each of add, subtract and multiply.",
    answer:
      "def add(first, second):\n    return first + second\n\n\ndef subtract(first, second):\n    return first - second\n\n\ndef multiply(first, second):\n    return first * second\n",
  },
  {
    name: "Something new",
    prompt: "Tell me about lighthouses.",
    answer:
      "Lighthouses warn ships of rocks they cannot see. A keeper once lit the lamp each evening; today a sensor does, and few people live so far out.",
  },
];
