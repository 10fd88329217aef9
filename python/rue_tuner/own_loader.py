"""rue's own Loader as what is measured: each trial gets a loader of the same data with other knobs."""
from . import knobs
from .loader.options import KNOBS, refuse_unknown
from .user_loader import Facts, UserLoader


class OwnLoader(UserLoader):
    """`loader` is a Loader. Its batch size stays, unless `space` has others."""
    name, own = "rue", KNOBS

    def __init__(self, loader, space=None, count=None, images=None, epochs=1):
        self.loader = loader
        super().__init__(space, count, images, epochs)
        refuse_unknown(self.knobs, loader.options)

    def facts(self):
        return Facts(map_style=True, drops_last=self.drops_last(), images=self.loader.images, sure=True, plain=True)

    def sample(self):
        return self.loader

    def drops_last(self, request=None):
        return self.loader.options["drop_last"]

    def default_space(self):
        config = self.loader.config
        workers = sorted({config["num_workers"], *knobs.default_workers()})
        return dict({name: [value] for name, value in config.items() if value is not None}, num_workers=workers)

    def tensor_bytes(self, request):
        """Batches are not in /dev/shm."""
        return 0

    def count_images(self, config, found):
        self.images, self.checked = self.given_images or self.loader.images, not self.given_images

    def arguments(self):
        return [*self.space, *self.knobs]

    def make(self, values, images, copier):
        return self.loader.with_(**values)

    def recommended_loader(self, config, overrides):
        found = {name: value for name, value in config.items() if name in self.arguments()}
        return self.loader.with_(**{**found, **overrides})

    def identity(self):
        return f"{self.loader!r} {self.loader.digest}"

    def own_config(self):
        return self.loader.config
