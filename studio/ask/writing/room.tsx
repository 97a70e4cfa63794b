import { useSignalEffect } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { GivenPrompt } from "../../../src/protocol/messages.ts";
import { address, count, put } from "../../address.ts";
import { SaveMenu } from "../../parts/save.tsx";
import { Slider } from "../../parts/slider.tsx";
import { Failed } from "../../parts/states.tsx";
import { TextField } from "../../parts/text-field.tsx";
import type { Asked } from "../asked.ts";
import { Author } from "./author.ts";
import { branchAt, keptOf, ownerOf, textOf } from "./branches.ts";
import { type Message, messagesOf, Turns } from "./chat.tsx";
import { ChoiceList } from "./choices.tsx";
import { filtered, type Place } from "./filters.ts";
import { putSetting, usedSettings, writeSettings } from "./settings.ts";
import { WrittenText } from "./text.tsx";
import { BranchList } from "./tree.tsx";
import { writtenPage } from "./written-page.ts";

// Writing: a prompt, and what the model goes on with. Each token shows how sure it was; another one in its place makes a branch.

/** Addresses longer than this are cut by some who pass them on. */
const longestKept = 6000;

export function WritingRoom({ asked }: { readonly asked: Asked }) {
  const { params } = address.value;
  const { facts, name, step } = asked;
  const author = useMemo(() => new Author(asked), [name, step]);
  const isChat = facts.chat === "own";
  const turns = isChat ? messagesOf(params.chat) : [];
  const text = textNow(asked);
  const prompt = promptNow(asked);
  const said = JSON.stringify(prompt);
  const { tree: kept = "" } = params;
  const isWanted = useRef(false); // that it goes on as soon as it has read
  useEffect(() => {
    if (text === "") {
      author.leave();
      return;
    }
    const isKept = kept !== "" && kept !== author.kept;
    void (isKept ? author.restore(prompt, kept, count("at") ?? 0) : author.read(prompt)).then(() => {
      const goesOn = isWanted.current && author.hasRead(prompt);
      isWanted.current = false;
      if (goesOn) void author.goOn(usedSettings());
    });
  }, [author, said, kept]);
  useEffect(() => () => author.stop(), [author]);
  useSignalEffect(() => {
    const [tree, state] = [author.tree.value, author.state.value];
    if (state !== "idle" || tree.branches.length === 0) return;
    const now = keptOf(tree);
    author.kept = now.length > longestKept ? "" : now;
    put({ tree: author.kept || undefined, at: tree.chosen || undefined });
  });
  const write = () => {
    const { tree, state } = author;
    if (!author.hasRead(promptNow(asked))) isWanted.current = textNow(asked) !== "";
    else if (state.value === "idle" && !branchAt(tree.value, tree.value.chosen)?.ended) void author.goOn(usedSettings());
  };
  return (
    <div class="asking">
      <div class="stack">
        {isChat && <Turns turns={turns} />}
        <TextField
          label={isChat ? "You" : "Prompt: the model goes on with it"}
          value={text}
          change={(value) => put({ text: value, tree: undefined, at: undefined, pin: undefined })}
          enter={write}
        />
        <Text asked={asked} author={author} reply={isChat ? (answer) => goOnTalking(turns, text, answer) : undefined} />
      </div>
      <aside class="stack" aria-label="How it is written">
        <section class="panel bare">
          <h2>How the next token is chosen</h2>
          {writeSettings.map((setting) => (
            <Slider key={setting.name} {...setting} value={usedSettings()[setting.name]} choose={(value) => putSetting(setting, value)} />
          ))}
        </section>
        <Branches author={author} />
      </aside>
    </div>
  );
}

const textNow = ({ facts, example }: Asked): string => address.value.params.text ?? (facts.chat === "own" ? "" : example);

/** What it is given by the address: a text, or a conversation with the next turn. */
function promptNow(asked: Asked): GivenPrompt {
  const text = textNow(asked);
  return asked.facts.chat === "own" ? [...messagesOf(address.value.params.chat), { role: "user", content: text }] : text;
}

/** What was said so far, and room for the next word. */
function goOnTalking(turns: readonly Message[], text: string, answer: string): void {
  const all = [...turns, { role: "user", content: text }, { role: "assistant", content: answer }];
  put({ chat: JSON.stringify(all), text: undefined, tree: undefined, at: undefined, pin: undefined }, "push");
}

function Text({ asked, author, reply }: { readonly asked: Asked; readonly author: Author; readonly reply?: (answer: string) => void }) {
  const [pointed, point] = useState<number>();
  const pinned = count("pin");
  const pin = (place: number | undefined) => put({ pin: place });
  const settings = usedSettings();
  const [tree, state, prompt] = [author.tree.value, author.state.value, author.prompt.value];
  const tokens = textOf(tree);
  const shownPrompt = reply ? [] : (prompt?.tokens ?? []);
  const branch = branchAt(tree, tree.chosen);
  const isWriting = state === "writing";
  const all = [...shownPrompt, ...tokens];
  const at = pointed ?? pinned ?? all.length;
  const place: Place | undefined = at < all.length ? all[at] : tokens.length === 0 ? prompt?.next : (branch?.ended ?? branch?.next);
  const ending = place?.top.find(({ logProbability }) => logProbability === branch?.ended?.logProbability); // an end is told without its token
  const taken = at < all.length ? all[at].id : branch?.ended && ending?.id;
  const own = at - shownPrompt.length; // places of the written text
  const before = [...(prompt?.tokens ?? []), ...tokens.slice(0, Math.max(0, own))].map(({ id }) => id);
  const { temperature, topK, topP, minP, repetitionPenalty } = settings;
  const found = useMemo(
    () =>
      place && place.top.length > 0
        ? filtered(place, { temperature, topK, topP, minP, repetitionPenalty }, before, asked.facts.vocab)
        : undefined,
    [place, temperature, topK, topP, minP, repetitionPenalty, before.length, tree.chosen],
  );
  const forks = new Set(
    tree.branches.flatMap(({ parent, from }) =>
      parent !== undefined && ownerOf(tree, tree.chosen, from) === parent ? [from + shownPrompt.length] : [],
    ),
  );
  const words = tokens.map(({ text }) => text).join("");
  return (
    <>
      <div class="row">
        {isWriting ? (
          <button type="button" class="first wide" onClick={() => author.stop()}>
            Stop
          </button>
        ) : (
          <button
            type="button"
            class="first wide"
            disabled={!prompt || state !== "idle" || branch?.ended !== undefined}
            onClick={() => !author.hasJustEnded && void author.goOn(settings)}
          >
            {tokens.length === 0 ? "Write" : "Go on"}
          </button>
        )}
        <button
          type="button"
          disabled={tokens.length === 0 || isWriting}
          onClick={() => {
            const seed = (settings.seed % 100) + 1;
            put({ seed });
            void author.again({ ...settings, seed });
          }}
          title="Another text from the same prompt, with the next seed; this one stays among the branches"
        >
          Once more
        </button>
        {reply && (
          <button type="button" disabled={words === "" || isWriting} onClick={() => reply(words.trim())}>
            Reply
          </button>
        )}
        <span class="soft" role="status">
          {state === "reading"
            ? "It reads."
            : isWriting
              ? `${tokens.length} tokens`
              : tokens.length > 0
                ? `${tokens.length} tokens written.`
                : ""}
        </span>
        <span class="space" />
        <SaveMenu
          name={`${asked.name}-text`}
          html={() => writtenPage({ title: `A text by ${asked.name}`, prompt: shownPrompt, tokens })}
          json={() => ({ prompt: prompt?.given, settings, ...tree })}
        />
      </div>
      {author.failed.value && <Failed message={author.failed.value} />}
      <div class="text-and-choices">
        <WrittenText
          prompt={shownPrompt}
          tokens={tokens}
          end={isWriting ? undefined : branch?.ended}
          isWriting={isWriting}
          pointed={pointed}
          pinned={pinned}
          forks={forks}
          point={point}
          pin={pin}
        />
        <section class="here" aria-label="What could come here">
          <h2>{headOf(at, all.length, own)}</h2>
          {place && found ? (
            <ChoiceList
              found={found}
              taken={taken}
              isBusy={isWriting}
              choose={
                own < 0
                  ? undefined
                  : ({ id, text, bytes, logProbability }) => {
                      pin(undefined);
                      point(undefined);
                      void author.branch(own, { id, text, bytes, logProbability, top: place.top, total: place.total }, settings);
                    }
              }
            />
          ) : (
            <p class="soft">
              {isWriting ? "It writes. " : ""}Point at a token to see what else could have come there. A click keeps it, and a click on
              another token writes on with that one.
            </p>
          )}
        </section>
      </div>
    </>
  );
}

const headOf = (at: number, all: number, own: number): string => {
  if (at >= all) return "What comes next";
  return own < 0 ? "What it expected in the prompt" : `What could come as token ${own + 1}`;
};

function Branches({ author }: { readonly author: Author }) {
  const tree = author.tree.value;
  return (
    <section class="panel">
      <h2>Branches</h2>
      {tree.branches.length === 0 ? (
        <p class="soft">Every text that is written stays here. Choose another token in a text, and it branches.</p>
      ) : (
        <BranchList tree={tree} choose={(number) => author.choose(number)} />
      )}
    </section>
  );
}
