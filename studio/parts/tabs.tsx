import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";

// Several sights in one place, one of them shown. Arrow keys lead from one to the next.

export interface Tab<Name extends string> {
  readonly name: Name;
  readonly label: string;
}

export function Tabs<Name extends string>({
  label,
  tabs,
  chosen,
  choose,
  children,
}: {
  readonly label: string;
  readonly tabs: readonly Tab<Name>[];
  readonly chosen: Name;
  readonly choose: (name: Name) => void;
  readonly children: ComponentChildren;
}) {
  const list = useRef<HTMLDivElement>(null);
  const walk = (event: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowLeft: -1, Home: -tabs.length, End: tabs.length }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const at = tabs.findIndex(({ name }) => name === chosen);
    const next = Math.abs(by) === 1 ? (at + by + tabs.length) % tabs.length : by < 0 ? 0 : tabs.length - 1;
    choose(tabs[next].name);
    list.current?.querySelectorAll<HTMLElement>('[role="tab"]')[next]?.focus();
  };
  return (
    <div class="stack">
      <div class="tabs" role="tablist" aria-label={label} ref={list} onKeyDown={walk}>
        {tabs.map(({ name, label: words }) => (
          <button
            type="button"
            role="tab"
            key={name}
            id={`tab-${name}`}
            aria-selected={name === chosen}
            aria-controls={`panel-${name}`}
            tabIndex={name === chosen ? 0 : -1}
            onClick={() => choose(name)}
          >
            {words}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`panel-${chosen}`} aria-labelledby={`tab-${chosen}`} class="stack">
        {children}
      </div>
    </div>
  );
}
