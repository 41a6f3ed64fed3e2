/** How often a text is decoded; one that is escaped more often counts as holding the secret. */
const ROUNDS = 4;
/** A shorter text is no secret: nearly every text holds it. */
const SHORTEST = 4;

/** What escapes are made of, by its name in HTML. Nothing else that HTML names and a key can hold is a letter or a digit. */
const NAMED: Readonly<Record<string, string>> = {
  amp: "&",
  num: "#",
  semi: ";",
  percnt: "%",
  bsol: "\\",
  plus: "+",
  lcub: "{",
  lbrace: "{",
  rcub: "}",
  rbrace: "}",
};
/** Stands for any other named character. */
const ANY = "\0";

/** Characters as JSON, JavaScript, HTML and URLs escape them, in lower case. `end`: what ends one of HTML's. */
const escapesUpTo = (end: string) =>
  new RegExp(
    "\\\\(?:u([\\da-f]{4})|u\\{([\\da-f]{1,10})\\}|x([\\da-f]{2}))" +
      `|&(?:#x([\\da-f]{1,10})|#(\\d{1,10})|(amp|lt|gt|quot|[a-z]{2,8}(?=;)))${end}` +
      "|(?:%[0-7][\\da-f]){1,64}" +
      "|%(?:[cd][\\da-f]|e[\\da-f]%[89ab][\\da-f]|f[0-7](?:%[89ab][\\da-f]){2})%[89ab][\\da-f]",
    "g",
  );

/** Finds secrets in texts: in capitals or not, as they are or escaped, several times and in several ways as well. */
export class SecretFinder {
  /** Each as it is, and as a decoder may read it that takes some of its own characters for escapes. */
  readonly #secrets = new Map<string, ReadonlySet<string>>();
  /** By the book; and as browsers read it, where a part of the secret may be taken for an escape. */
  readonly #escapes = [escapesUpTo(";"), escapesUpTo(";?")];

  add(secret: string): void {
    const forms = this.#escapes.flatMap((each) => [...this.#readings(secret, each)].map(plain));
    if (forms[0]!.length >= SHORTEST) this.#secrets.set(secret, new Set(forms.filter((form) => form !== "")));
  }

  remove(secret: string): void {
    this.#secrets.delete(secret);
  }

  /** Whether the text holds a secret, or may hold one. */
  isIn(text: string): boolean {
    if (this.#secrets.size === 0) return false;
    for (const escapes of this.#escapes) {
      let round = 0;
      let hasHtml = false;
      for (const reading of this.#readings(text, escapes)) {
        const read = plain(reading);
        const likened = read.includes(ANY) ? withAny(read) : "";
        for (const forms of this.#secrets.values())
          for (const form of forms) if (read.includes(form) || likened.includes(withAny(form))) return true;
        hasHtml ||= read.includes("&");
        round += 1;
      }
      if (round > ROUNDS) return true;
      if (!hasHtml) return false;
    }
    return false;
  }

  /** The text as it is, decoded once, twice, and so on, until nothing is left to decode. */
  *#readings(text: string, escapes: RegExp): Iterable<string> {
    let reading = text;
    for (let round = 0; round <= ROUNDS; round += 1) {
      // JSON in JSON escapes backslashes, too.
      const now = reading.toLowerCase().replace(/\\{2,}/g, "\\");
      yield now;
      reading = now.replace(escapes, this.#decoded);
      if (reading === now) return;
    }
  }

  readonly #decoded = (
    escaped: string,
    unit?: string,
    braced?: string,
    byte?: string,
    hexadecimal?: string,
    decimal?: string,
    name?: string,
  ): string => {
    if (name !== undefined) return NAMED[name] ?? ANY;
    const hex = unit ?? byte ?? braced ?? hexadecimal;
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    if (code <= 0x10ffff) return String.fromCodePoint(code);
    try {
      return decodeURIComponent(escaped);
    } catch {
      return escaped;
    }
  };
}

/** Without backslashes, which any character may have before it; and a plus is a space in forms. */
function plain(text: string): string {
  return text.replaceAll("\\", "").replaceAll("+", " ");
}

/** With all that is no letter or digit as if HTML had named it. */
function withAny(text: string): string {
  return text.replace(/[^a-z\d]/g, ANY);
}
