export const Compare = () => <h1>Compare</h1>;
