// Lets dependency-cruiser see @workbench-hub/<package>/<file> as the source <package>/<file>.ts, not as the
// compiled file that "exports" names: the rules then hold without a build, and cycles across packages show.
module.exports = {
  resolve: { alias: { '@workbench-hub/*': [`${__dirname}/*`, `${__dirname}/packages/*`] } },
};
